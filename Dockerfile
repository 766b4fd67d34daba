# docker build -t flatlands .
# docker run --name flatlands -p 8000:8000 -v flatlands:/var/lib/flatlands -e SECRET_KEY=... flatlands
FROM python:3.11-slim
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
# Whoever serves may not write here: compiled once, now.
RUN python -m compileall -q .
# What lasts is kept here, unless the broker is a Redis or STORE_URL names another place.
RUN install -d -o 65534 -g 65534 /var/lib/flatlands
VOLUME /var/lib/flatlands
USER 65534:65534
ENV HOST=0.0.0.0 PORT=8000 STATE_DIRECTORY=/var/lib/flatlands
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ['PORT'] + '/healthz', timeout=4)"]
CMD ["python", "-m", "server"]
