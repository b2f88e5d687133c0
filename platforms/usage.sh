# Sourced by scripts, before they do anything: `--help` and `-h` print the comment at the script's head, and do nothing else.
this_script=$0
[[ $this_script == /* ]] || this_script=$PWD/$this_script  # Scripts go to other folders.

usage() { sed -n '2,${ /^#/!q; s/^# \{0,1\}//p }' "$this_script"; }
# For arguments that are none: from the line `# usage:` on.
misused() {
  usage | sed -n '/^usage:/,$p' >&2
  exit 2
}

for argument in "$@"; do
  case $argument in --help | -h)
    usage
    exit 0
    ;;
  esac
done
unset argument
