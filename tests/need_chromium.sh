#!/bin/sh
# Makes sure that a Chromium is on this machine for the browser tests, or says what to do.
set -u
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
[ -n "${CHROMIUM:-}" ] && [ -x "$CHROMIUM" ] && exit 0
if command -v apt-get >/dev/null 2>&1; then
  root=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null && root="sudo -n"
  fi
  if [ "$(id -u)" = 0 ] || [ -n "$root" ]; then
    echo "Installing Chromium for the browser tests (once) ..."
    export DEBIAN_FRONTEND=noninteractive
    $root apt-get update -qq >/dev/null &&
      $root apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 &&
      command -v chromium >/dev/null 2>&1 && exit 0
  fi
fi
echo "The browser tests need Chromium: install it, or name its program in CHROMIUM." >&2
exit 1
