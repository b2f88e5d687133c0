#!/usr/bin/env bash
# Fetches the pinned sources of versions.txt into OUT_DIR/<name>/, each from the first place that has it:
#   1. a tarball in the folder named by SKIFF_SOURCE_CACHE (checked by SHA-256; newly downloaded ones are added to it),
#   2. git, by commit,
#   3. Debian's source archive, through apt and whatever mirror this machine already uses.
# usage: fetch.sh OUT_DIR
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../usage.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[[ $# == 1 ]] || misused
out=$(mkdir -p "$1" && cd "$1" && pwd)
cache=${SKIFF_SOURCE_CACHE:-$out/tarballs}
mkdir -p "$cache"

fail() { echo "fetch.sh: $*" >&2; exit 1; }

has_tarball() {  # tarball sha256
  [[ -f $cache/$1 ]] && echo "$2  $cache/$1" | sha256sum --check --status
}

# Some of these tarballs have one top folder and some have none, so a lone folder is lifted.
unpack() {  # name tarball
  local staging=$out/$1.part entries
  rm -rf "$staging" && mkdir "$staging"
  tar -xf "$cache/$2" -C "$staging" || return 1
  entries=("$staging"/*)
  rm -rf "${out:?}/$1"
  if [[ ${#entries[@]} == 1 && -d ${entries[0]} ]]; then
    mv "${entries[0]}" "$out/$1" && rmdir "$staging"
  else
    mv "$staging" "$out/$1"
  fi
}

git_reachable=
can_use_git() {  # url
  if [[ -z $git_reachable ]]; then
    git_reachable=no
    command -v git >/dev/null && GIT_TERMINAL_PROMPT=0 timeout 10 git ls-remote --quiet "$1" HEAD >/dev/null 2>&1 &&
      git_reachable=yes
  fi
  [[ $git_reachable == yes ]]
}

clone() {  # name url commit
  local staging=$out/$1.part
  rm -rf "$staging" && mkdir "$staging"
  git -C "$staging" init --quiet &&
    GIT_TERMINAL_PROMPT=0 timeout 300 git -C "$staging" fetch --quiet --depth 1 "$2" "$3" &&
    git -C "$staging" checkout --quiet FETCH_HEAD || return 1
  rm -rf "$staging/.git" "${out:?}/$1"
  mv "$staging" "$out/$1"
}

# The newer suites that hold these sources are named in a private apt state, so the host's own lists stay as they are.
apt_state=
prepare_apt() {
  [[ -z $apt_state ]] || return 0
  command -v apt-get >/dev/null || fail "neither git nor apt-get can fetch the sources. Put the tarballs of" \
    "$here/versions.txt into a folder and set SKIFF_SOURCE_CACHE to it."
  local mirror suite
  mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
    awk '$3 == "main" && $2 !~ /-/ && !found {print $1; found = 1}')
  [[ -n $mirror ]] || fail "apt has no package lists; run 'apt-get update' first."
  apt_state=$out/apt-state
  mkdir -p "$apt_state/lists/partial"
  for suite in trixie sid; do
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
  done >"$apt_state/sources.list"
  private_apt update
}
private_apt() {
  apt-get -qq -o Dir::Etc::SourceList="$apt_state/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$apt_state/lists" -o APT::Sandbox::User=root "$@"
}
download() {  # debian_source tarball sha256
  prepare_apt
  (cd "$cache" && private_apt source --download-only --tar-only "$1")
  has_tarball "$2" "$3" || fail "$1 did not give $2 with SHA-256 $3. Put that file into $cache and try again."
}

while read -r name url commit debian_source tarball sha256; do
  [[ $name != \#* ]] || continue
  marker=$out/$name.commit
  [[ ! -f $marker || $(<"$marker") != "$commit" ]] || continue
  rm -f "$marker"
  if has_tarball "$tarball" "$sha256"; then
    origin=$cache
    unpack "$name" "$tarball"
  elif can_use_git "$url" && clone "$name" "$url" "$commit"; then
    origin=$url
  else
    download "$debian_source" "$tarball" "$sha256"
    origin="Debian source package $debian_source"
    unpack "$name" "$tarball"
  fi
  echo "$commit" >"$marker"
  echo "fetched $name $commit from $origin" >&2
done <"$here/versions.txt"
rm -rf "$out/apt-state"
