#!/bin/sh
# Makes sure that the programs that the tests run are on this machine: installs what is missing where
# it may, and otherwise names all of it at once. Needs no rights where everything is there. With the
# argument `studies`, also what only the tests of studies run.
set -u
studies=${1-}
PATH=$PATH:/usr/sbin:/usr/local/go/bin:${HOME-}/.cargo/bin

has_chromium() {
  for name in "${CHROMIUM:-chromium-headless-shell}" chromium chromium-browser google-chrome; do
    command -v "$name" && return
  done
  return 1
}
has_firefox() { command -v firefox-esr; }
has_redis() {
  command -v redis-cli && redis-server --version | grep -E ' v=([7-9]|[1-9][0-9])'
}
has_mosquitto() { command -v mosquitto && command -v mosquitto_passwd && command -v mosquitto_sub; }
has_nats() { nats-server --version | grep -E ' v([2-9]|[1-9][0-9])'; }
has_go() { go version | grep -E ' go1\.(19|[2-9][0-9])'; }
has_rust() { cargo --version | grep -E ' 1\.(6[3-9]|[7-9][0-9]|[1-9][0-9]{2})\.'; }
has_gcc() { g++ -dumpversion | grep -E '^[1-9][0-9]'; }
has_node() { node --version | grep -E '^v(18\.(19|2[0-9])|2[0-9]|[3-9][0-9])\.'; }
has_npm() { command -v npm; }
has_nginx() { command -v nginx; }
has_prometheus() { command -v prometheus && command -v promtool; }
has_openssl() { command -v openssl; }

# Sets `missing`, a line for people each, and `packages`, what Debian calls them.
look() {
  missing='' packages=''
  need chromium chromium "Chromium, or its program's path in CHROMIUM"
  need redis redis-server "redis-server and redis-cli, version 7 or newer"
  need mosquitto "mosquitto mosquitto-clients" "mosquitto, with mosquitto_sub and mosquitto_pub"
  need nats nats-server "nats-server, version 2 or newer"
  if [ -n "$studies" ]; then
    need go "golang-go ca-certificates" "Go, version 1.19 or newer"
    need rust "cargo ca-certificates" "Rust, version 1.63 or newer, with cargo"
    need gcc "g++" "GCC, version 10 or newer, with g++"
  fi
  need nginx nginx "nginx"
  need prometheus prometheus "prometheus and promtool"
  need node nodejs "Node.js, version 18.19 or newer"
  need npm npm "npm, which installs what looks at the page"
  need openssl openssl "openssl"
  # The tests go without it where it cannot be had.
  has_firefox >/dev/null 2>&1 || ! apt-cache show firefox-esr >/dev/null 2>&1 ||
    packages="$packages firefox-esr"
}
need() {
  "has_$1" >/dev/null 2>&1 && return
  packages="$packages $2" missing="$missing
  $3"
}

look
root=
[ "$(id -u)" = 0 ] || root='sudo -n'
if [ -n "$packages" ] && command -v apt-get >/dev/null 2>&1 && { [ -z "$root" ] || $root true 2>/dev/null; }; then
  echo "Installing what the tests run (once, this takes some minutes):$packages ..."
  export DEBIAN_FRONTEND=noninteractive
  $root apt-get update -qq >/dev/null
  look
  # What draws pages without a window is smaller than all of Chromium, and a page costs it less.
  apt-cache show chromium-headless-shell >/dev/null 2>&1 &&
    packages=$(echo "$packages" | sed 's/ chromium\b/ chromium-headless-shell/')
  # shellcheck disable=SC2086
  $root apt-get install -y -qq --no-install-recommends $packages >/dev/null 2>&1
  look
fi
if [ -z "$missing" ]; then
  has_firefox >/dev/null || echo "Firefox is left out of the tests: firefox-esr is not on this machine."
  exit 0
fi
echo "The tests need these programs, which are not on this machine:$missing" >&2
command -v apt-get >/dev/null 2>&1 && echo "Install them: sudo apt-get install$packages" >&2
echo "All tests that start no program run without them: make check" >&2
exit 1
