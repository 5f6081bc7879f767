# shellcheck shell=bash disable=SC2034
# Common functions of the scripts. Sourced; expects `set -euo pipefail`.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
export ROOT
# The Python packages of the tests and tools; tests/CMakeLists.txt has the same list.
export PYTHONPATH="$ROOT/tests/lib:$ROOT/scripts/lib:$ROOT/bench/lib"

# The objects of one clone serve another, and those of the preset "release" the Debian package.
export CCACHE_BASEDIR="$ROOT" CCACHE_NOHASHDIR=1

# Versions that are part of package names: Debian 13 has others than Debian 12.
case "$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")" in
    trixie) POSTGRES=17 LLVM=19 ;;
    *) POSTGRES=15 LLVM=14 ;;
esac

BUILD_PACKAGES=(g++ cmake ninja-build pkg-config python3 libpq-dev librdkafka-dev libabsl-dev libspdlog-dev
    libfmt-dev libre2-dev libsimdjson-dev libyaml-dev libtomlplusplus-dev libcli11-dev prometheus-cpp-dev libmicrohttpd-dev
    libcurl4-openssl-dev libssl-dev libprotobuf-dev protobuf-compiler libjemalloc-dev)
DEVELOPMENT_PACKAGES=(ccache libgtest-dev libgmock-dev libbenchmark-dev)
SERVER_PACKAGES=("postgresql-$POSTGRES")
TEST_PACKAGES=("clang-$LLVM" "lld-$LLVM" "libclang-rt-$LLVM-dev" "clang-format-$LLVM" shellcheck maven default-jre-headless
    python3-psycopg python3-psycopg2 python3-confluent-kafka kcat python3-protobuf python3-yaml python3-jsonschema python3-pip
    binutils openssl procps chromium fonts-dejavu-core systemd)
# Of `scripts/dev package` and `image-test`, and of the tests of completions and manual pages.
PACKAGING_PACKAGES=(debootstrap man-db zsh fish)
BENCH_PACKAGES=(iproute2 "postgresql-$POSTGRES-wal2json" python3-matplotlib)

say() { printf '\n== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else die "run as root or install sudo to install missing packages ($*)"
    fi
}

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

# install PACKAGE…: installs the missing Debian packages.
install() {
    local missing=()
    for package in "$@"; do installed "$package" || missing+=("$package"); done
    [ ${#missing[@]} -eq 0 ] && return
    command -v apt-get >/dev/null || die "apt-get is not available; install these packages: ${missing[*]}"
    say "installing ${#missing[@]} packages and what they require: ${missing[*]}"
    [ -n "${package_lists_updated:-}" ] || as_root apt-get update -qq
    package_lists_updated=1
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# install_with_postgres PACKAGE…: installs them and Postgres. By default its package starts a server on port 5432; the
# scripts need only the programs.
install_with_postgres() {
    if ! installed "postgresql-$POSTGRES"; then
        as_root mkdir -p /etc/postgresql-common
        echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
    fi
    install "$@" "${SERVER_PACKAGES[@]}"
}

# The package also starts a Prometheus server. The scripts need only promtool.
install_promtool() {
    installed prometheus && return
    [ -d /run/systemd/system ] && as_root systemctl mask --quiet prometheus
    install prometheus
    [ -d /run/systemd/system ] || return 0
    as_root systemctl unmask --quiet prometheus
    as_root systemctl disable --quiet prometheus
}

# build PRESET [TARGET…]: configures if needed, and builds.
build() {
    local preset=$1; shift
    say "building ${preset}${*:+ ($*)}"
    (cd "$ROOT" && { [ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" -Wno-dev >/dev/null; } &&
        cmake --build "build/$preset" ${1:+--target "$@"} -- --quiet)
}
