# Packages of Debian that this system's own configuration does not have: sources, other
# releases, other architectures. Source it. apt-get checks signatures and hashes; its
# state is private to a folder, so the system's package sources stay as they are.
#
# The caller has `die` and `say`, and LOG names a file for apt-get's messages.

# What apt-get's log means, in one sentence.
explain_apt_failure() {
  local what=$1
  if grep -qE "Temporary failure|Could not (resolve|connect)|Failed to fetch|\
Unable to (fetch|connect)|timed out|Unable to locate package|\
no installation candidate|Network is unreachable" "$LOG"; then
    die "$what cannot be downloaded: the package archive is not reachable" \
      "(offline?); connect this machine to it and run this script again" \
      "(apt-get's messages: $LOG)"
  fi
  tail -n 15 "$LOG" >&2
  die "apt-get failed to install $what (full log: $LOG)"
}

# The keyring that the system's configuration names for the archive $1, empty
# when it names none (then apt's own trusted keys apply).
keyring_of() {
  local uri=${1%/} file
  for file in /etc/apt/sources.list.d/*.sources; do
    [[ -e $file ]] || continue
    awk -v uri="$uri" 'BEGIN { RS = ""; FS = "\n" }
      {
        matches = 0; key = ""
        for (i = 1; i <= NF; ++i) {
          if ($i ~ /^URIs:/) {
            n = split(substr($i, 6), part, /[ \t]+/)
            for (j = 1; j <= n; ++j) {
              sub(/\/$/, "", part[j])
              if (part[j] == uri) matches = 1
            }
          }
          if ($i ~ /^Signed-By:[ \t]*\//) {
            key = $i; sub(/^Signed-By:[ \t]*/, "", key)
          }
        }
        if (matches && key != "") { print key; exit }
      }' "$file"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -e $file ]] || continue
    awk -v uri="$uri" '/^[ \t]*deb/ {
        matches = 0
        for (i = 1; i <= NF; ++i) { p = $i; sub(/\/$/, "", p)
                                    if (p == uri) matches = 1 }
        if (matches && match($0, /signed-by=[^] \t]*/)) {
          print substr($0, RSTART + 10, RLENGTH - 10); exit }
      }' "$file"
  done
}

# The archive of this Debian release, as apt itself resolved it.
archive_of() {
  apt-get indextargets --format '$(CODENAME)|$(COMPONENT)|$(REPO_URI)' \
    'Identifier: Packages' |
    awk -F'|' -v release="$1" \
      '$1 == release && $2 == "main" { print $3; exit }'
}

# An apt configuration for packages of architecture $2 whose state, cache and sources
# are private to $1, as if nothing were installed; hooks of the system that belong to
# its own package lists are left out.
write_private_apt_conf() {
  local dir=$1 architecture=$2
  mkdir -p "$dir"/{state/lists/partial,cache/archives/partial}
  : >"$dir/state/status"
  cat >"$dir/apt.conf" <<CONF
#clear APT::Architectures;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
APT::Architecture "$architecture";
APT::Architectures "$architecture";
Dir::State "$dir/state";
Dir::State::status "$dir/state/status";
Dir::Cache "$dir/cache";
Dir::Etc::sourcelist "$dir/sources.list";
Dir::Etc::sourceparts "-";
APT::Sandbox::User "$(id -un)";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "20";
CONF
}

# debian_release: the name of this system's release, such as bookworm.
debian_release() {
  # shellcheck source=/dev/null
  (. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
}

# open_archive DIR KIND ARCHITECTURE RELEASE...: a private state in DIR, an absolute
# path, with the lists of packages of those releases; KIND is deb or deb-src.
open_archive() {
  local dir=$1 kind=$2 architecture=$3 archive key release
  shift 3
  archive=$(archive_of "$(debian_release)")
  [[ -n $archive ]] || die "apt has no package list of '$(debian_release) main', so" \
    "the archive of packages is unknown (offline?); run 'apt-get update' and then" \
    "this script again"
  key=$(keyring_of "$archive" | head -n 1)
  write_private_apt_conf "$dir" "$architecture"
  for release in "$@"; do
    printf '%s %s%s %s main\n' "$kind" "${key:+[signed-by=$key] }" "$archive" \
      "$release"
  done >"$dir/sources.list"
  apt-get -c "$dir/apt.conf" update >"$LOG" 2>&1 ||
    explain_apt_failure "the lists of packages"
}

# fetch_source DIR PACKAGE: unpacks the source of an open archive into DIR/PACKAGE.
fetch_source() {
  local dir=$1 package=$2
  (cd "$dir" && apt-get -c "$dir/apt.conf" source --download-only "$package") \
    >>"$LOG" 2>&1 || explain_apt_failure "the source package of $package"
  rm -rf "${dir:?}/$package"
  dpkg-source --no-check -x "$dir/${package}"_*.dsc "$dir/$package" >>"$LOG" 2>&1 ||
    die "dpkg-source cannot unpack the source package of $package (log: $LOG)"
}

# unpack_packages DIR FOLDER PACKAGE...: those of an open archive, without what they
# depend on, unpacked into FOLDER.
unpack_packages() {
  local dir=$1 folder=$2 package
  shift 2
  (cd "$dir" && apt-get -c "$dir/apt.conf" download "$@") >>"$LOG" 2>&1 ||
    explain_apt_failure "$*"
  for package in "$@"; do
    dpkg -x "$dir/${package}"_*.deb "$folder"
  done
}

# unpack_closure DIR FOLDER PACKAGE...: the same, with all that they depend on.
unpack_closure() {
  local dir=$1 folder=$2 file
  shift 2
  apt-get -c "$dir/apt.conf" install -y --no-install-recommends --download-only "$@" \
    >>"$LOG" 2>&1 || explain_apt_failure "$*"
  for file in "$dir"/cache/archives/*.deb; do
    dpkg -x "$file" "$folder"
  done
}
