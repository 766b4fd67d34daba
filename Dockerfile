# docker build -t flatlands --build-arg COMMIT=$(git rev-parse HEAD) .
# docker run --name flatlands -p 8000:8000 -v flatlands:/var/lib/flatlands -e SECRET_KEY=... flatlands
#
# The same image each time: --build-arg PYTHON=python:3.11-slim@sha256:... with the digest that
# docker images --digests python shows. Without what is compiled: --target sources.
ARG PYTHON=python:3.11-slim
FROM $PYTHON AS sources
WORKDIR /flatlands
COPY requirements.txt requirements.lock ./
RUN pip install --no-cache-dir --disable-pip-version-check -r requirements.txt
COPY flatlands ./flatlands
COPY world ./world
COPY brokers ./brokers
COPY stores ./stores
COPY server ./server
COPY games ./games
COPY static ./static
# What lasts is kept here, unless the broker is a Redis or STORE_URL names another place.
RUN install -d -o 65534 -g 65534 /var/lib/flatlands
VOLUME /var/lib/flatlands
ENV HOST=0.0.0.0 PORT=8000 STATE_DIRECTORY=/var/lib/flatlands
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s CMD ["bash", "-c", "exec 3<> /dev/tcp/127.0.0.1/$PORT && printf 'GET /healthz HTTP/1.0\\r\\nHost: 127.0.0.1\\r\\n\\r\\n' >&3 && grep -q ' 200 ' <&3"]
CMD ["python", "-m", "server"]

FROM sources AS compiled
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev
RUN pip install --no-cache-dir --disable-pip-version-check -c requirements.lock "mypy[mypyc]" setuptools types-gevent
RUN python -m flatlands.compiled

FROM sources
COPY --from=compiled /flatlands/flatlands/fast ./flatlands/fast
# Whoever serves may not write here: compiled once, now.
RUN python -m compileall -q .
USER 65534:65534
ARG COMMIT=
ENV COMMIT=$COMMIT
LABEL org.opencontainers.image.title=Flatlands org.opencontainers.image.licenses=MIT org.opencontainers.image.revision=$COMMIT
