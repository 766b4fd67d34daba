#!/bin/sh
# Makes sure that Go 1.19 or newer is on this machine for the tests of loadtest/go, or says what to do.
set -u
enough() {
  for go in go /usr/local/go/bin/go; do
    command -v "$go" >/dev/null 2>&1 &&
      "$go" version | grep -Eq ' go1\.(19|[2-9][0-9])' && return 0
  done
  return 1
}
enough && exit 0
if command -v apt-get >/dev/null 2>&1; then
  root=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null && root="sudo -n"
  fi
  if [ "$(id -u)" = 0 ] || [ -n "$root" ]; then
    echo "Installing Go for the tests of the load test (once) ..."
    export DEBIAN_FRONTEND=noninteractive
    $root apt-get update -qq >/dev/null &&
      $root apt-get install -y -qq --no-install-recommends golang-go ca-certificates >/dev/null 2>&1 &&
      enough && exit 0
  fi
fi
echo "The tests of loadtest/go need Go, version 1.19 or newer: install it." >&2
exit 1
