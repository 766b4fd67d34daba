#!/bin/sh
# Makes sure that Redis 7, and openssl for its certificate, are on this machine for the tests of the
# brokers, or says what to do.
set -u
enough() {
  command -v redis-cli >/dev/null 2>&1 && command -v openssl >/dev/null 2>&1 &&
    command -v redis-server >/dev/null 2>&1 &&
    redis-server --version | grep -Eq ' v=([7-9]|[1-9][0-9])'
}
enough && exit 0
if command -v apt-get >/dev/null 2>&1; then
  root=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null && root="sudo -n"
  fi
  if [ "$(id -u)" = 0 ] || [ -n "$root" ]; then
    echo "Installing Redis for the brokers' tests (once) ..."
    export DEBIAN_FRONTEND=noninteractive
    $root apt-get update -qq >/dev/null &&
      $root apt-get install -y -qq --no-install-recommends redis-server openssl >/dev/null 2>&1 &&
      enough && exit 0
  fi
fi
echo "The brokers' tests need redis-server and redis-cli, version 7 or newer, and openssl: install them." >&2
exit 1
