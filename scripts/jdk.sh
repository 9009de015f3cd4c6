# shellcheck shell=sh
# Finds a recent JDK. Sourced by the launcher and by scripts; POSIX sh.
#
# find_java sets $java_home and $java_build, or ends with a message and exit code 2. Candidates, in order:
# KERNBENCH_JAVA_HOME (an error if it does not fit), JAVA_HOME, java on the PATH, the usual folders.

readonly required_java=25

# Says what is wrong ($1) and what to do about it (the rest), then ends with 2.
fail() {
  printf 'kernbench: %s\n' "$1" >&2
  shift
  for line in "$@"; do [ -z "$line" ] || printf '  %s\n' "$line" >&2; done
  exit 2
}

# Follows symbolic links: $1 -> $resolved.
resolve_links() {
  resolved=$1
  while [ -h "$resolved" ]; do
    link_target=$(readlink "$resolved")
    case $link_target in
      /*) resolved=$link_target ;;
      *) resolved=$(dirname "$resolved")/$link_target ;;
    esac
  done
}

# Reads $1/release -> $java_version ("25.0.3"), $java_major ("25"), $java_build ("-25.0.3+9-x86_64").
# Fails if this is no Java home. No process is started: that would cost 40 ms per candidate.
read_release() {
  java_version='' java_major=0 java_build=''
  [ -x "$1/bin/java" ] && [ -r "$1/release" ] || return 1
  while IFS='=' read -r key value; do
    value=${value#\"} value=${value%\"}
    case $key in
      JAVA_VERSION) java_version=$value ;;
      JAVA_RUNTIME_VERSION | OS_ARCH) java_build=$java_build-$value ;;
    esac
  done <"$1/release"
  java_major=${java_version#1.}
  java_major=${java_major%%[!0-9]*}
  [ -n "$java_major" ] || java_major=0
  [ "$java_version" ]
}

# Takes $1 as the JDK if it is recent enough, otherwise remembers it for the error message.
try_java_home() {
  [ -n "$1" ] && read_release "$1" || return 1
  if [ "$java_major" -ge "$required_java" ]; then
    java_home=$1
    return 0
  fi
  case $seen in *"$1"\ *) ;; *) seen="$seen$1 (Java $java_version), " ;; esac
  return 1
}

find_java() {
  java_home='' seen=''
  if [ -n "${KERNBENCH_JAVA_HOME:-}" ]; then
    try_java_home "$KERNBENCH_JAVA_HOME" && return
    fail "KERNBENCH_JAVA_HOME=$KERNBENCH_JAVA_HOME: got ${java_version:+Java }${java_version:-no Java home there}; expected a JDK $required_java or later" \
      "Point it at the folder that holds bin/java and release, or unset it to let kernbench search."
  fi
  try_java_home "${JAVA_HOME:-}" && return
  if java_on_path=$(command -v java) && [ -n "$java_on_path" ]; then
    resolve_links "$java_on_path"
    try_java_home "${resolved%/bin/java}" && return
  fi
  if [ -x /usr/libexec/java_home ]; then # macOS
    try_java_home "$(/usr/libexec/java_home -F -v "$required_java+" 2>/dev/null)" && return
  fi
  for candidate in \
    /usr/lib/jvm/* /usr/lib64/jvm/* /usr/java/* /usr/local/java/* /opt/*jdk* /opt/*java* /opt/*/*jdk* \
    "${HOME:-/nonexistent}"/.sdkman/candidates/java/* "${HOME:-/nonexistent}"/.jdks/* \
    "${HOME:-/nonexistent}"/.asdf/installs/java/* "${HOME:-/nonexistent}"/.local/share/mise/installs/java/* \
    /Library/Java/JavaVirtualMachines/*/Contents/Home /opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home \
    /usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home; do
    try_java_home "$candidate" && return
  done
  fail "no JDK $required_java found" \
    "Looked at KERNBENCH_JAVA_HOME, JAVA_HOME, java on the PATH and the usual folders (/usr/lib/jvm, /opt, ~/.sdkman, ~/.jdks, ...)." \
    "${seen:+Found, but too old: ${seen%, }.}" \
    "Install one, for example from https://adoptium.net/temurin/releases/?version=$required_java, or name one:" \
    "  KERNBENCH_JAVA_HOME=/path/to/jdk-$required_java $0 ..."
}
