# Sourced by run: scripts/release in a small repository, with a Makefile that writes files instead of building.
# shellcheck shell=bash disable=SC2154 # $tmp
release=$tmp/release

release_git() {
    git -C "$release" -c user.name=test -c user.email=test@example.org -c commit.gpgsign=false -c tag.gpgsign=false "$@"
}

# A repository that is ready for the release of 1.2.3.
release_repository() {
    local tool
    rm -rf "$release" "$tmp/release-bin"
    mkdir -p "$release"/{scripts,packaging,docs} "$tmp/release-bin" || return 1
    for tool in x86_64-linux-gnu-gcc aarch64-linux-gnu-gcc dh npm; do
        printf '#!/bin/sh\nexit 1\n' >"$tmp/release-bin/$tool"
    done
    chmod 755 "$tmp/release-bin"/*
    for tool in bash env git awk grep sed ls cat dirname find sort xargs sha256sum rm tr wc head diff uname make python3 mkdir chmod; do
        ln -s "$(type -P $tool)" "$tmp/release-bin/$tool" || return 1
    done
    cp scripts/release "$release/scripts" && cp packaging/{commit,sums} "$release/packaging" || return 1
    echo 1.2.3 >"$release/VERSION"
    tee "$release/README.md" "$release/docs/install.md" <<<'Version 1.2.3 has been published.'
    printf '/dist/\n' >"$release/.gitignore"
    cat >"$release/CHANGELOG.md" <<'END'
# Changelog

## Unreleased

## 1.2.3 - 2026-01-31

### Proxy

- New: see [docs/a.md](docs/a.md#b), the [last
  section](#c) and [example](https://example.org).

## 1.2.2 - 2025-12-31

- Old.
END
    cat >"$release/Makefile" <<'END'
.PHONY: dist deb oci npm
dist:
	mkdir -p '$(DIST)/npm'
	for t in $(TARGETS); do { echo '#!/bin/sh'; echo "echo 'mcp-interposer $(or $(SAYS),1.2.3)'"; \
	  echo "echo 'commit     $$(packaging/commit)'"; } >'$(DIST)/mcp-interposer-1.2.3-'$$t; chmod 755 '$(DIST)/'*-$$t; done
deb oci npm: dist
	echo $@ >'$(DIST)/$(if $(filter npm,$@),npm/)$@'
END
    release_git init -q && release_commit && release_git tag v1.2.3
}
release_commit() { release_git add -A && release_git commit -q --allow-empty -m test; }

# release STATUS ARGUMENT...: run it; its output is in $tmp/released.
run_release() {
    local expected=$1 status=0
    shift
    PATH=$tmp/release-bin "$release/scripts/release" "$@" >"$tmp/released" 2>&1 || status=$?
    cat "$tmp/released"
    [ "$status" -eq "$expected" ]
}
release_says() { grep -qF -- "$1" "$tmp/released" || { echo "expected: $1"; return 1; }; }

release_is_ready() {
    release_repository && run_release 0 && release_says 'make dist deb oci npm' && release_says 'scripts/release --build makes it' &&
        release_says 'git push REMOTE v1.2.3' && release_says 'npm publish dist/npm/mcp-interposer-linux-arm64-1.2.3.tgz' &&
        [ ! -e "$release/dist" ] && [ -z "$(release_git status --porcelain)" ]
}

# release_finds TEXT COMMAND...: after the command, in the repository, TEXT is the only problem, and nothing is built.
release_finds() {
    local text=$1
    shift
    release_repository && (cd "$release" && "$@") && run_release 1 --build && release_says "release: $text" &&
        release_says 'not ready, 1 problem' && ! grep -q 'To publish it' "$tmp/released" && [ ! -e "$release/dist/NOTES.md" ]
}
release_edit() { sed -i "$1" "$release/$2" && release_commit && release_git tag -f v1.2.3; }
another_version() { echo 1.2.4 >VERSION && sed -i 's/^## 1.2.3/## 1.2.4/' CHANGELOG.md && release_commit && release_git tag v1.2.4 && release_git tag -f v1.2.3; }
without_tool() { rm "$tmp/release-bin/$1"; }
full_dist() { mkdir dist && touch dist/other; }

release_is_a_prerelease() {
    release_repository && (cd "$release" && echo 1.2.3-rc.1 >VERSION && sed -i 's/^## 1.2.3/## 1.2.3-rc.1/' CHANGELOG.md && release_commit &&
        release_git tag -d v1.2.3 && release_git tag v1.2.3-rc.1) && run_release 0 && release_says ' --verify-tag --prerelease --title' &&
        release_says 'npm publish --tag next dist/npm/mcp-interposer-1.2.3-rc.1.tgz'
}
release_builds() {
    release_repository && run_release 0 --build || return 1
    [ "$(<"$release/dist/NOTES.md")" = '### Proxy

- New: see docs/a.md, the last
  section and [example](https://example.org).' ] || { cat "$release/dist/NOTES.md"; return 1; }
    (cd "$release/dist" && sha256sum -c SHA256SUMS && cut -c 67- SHA256SUMS | tr '\n' ' ') | tee "$tmp/sums"
    tail -n 1 "$tmp/sums" | grep -qx 'NOTES.md deb mcp-interposer-1.2.3-linux-arm64 mcp-interposer-1.2.3-linux-x64 npm/npm oci '
}
release_checks_the_program() {
    release_repository && SAYS=1.2.2 run_release 1 --build && release_says '--version differs from what is released' &&
        [ ! -e "$release/dist/NOTES.md" ]
}
release_rejects_arguments() {
    release_repository && run_release 2 --publish && release_says "unexpected argument '--publish'" && run_release 2 --build --build &&
        run_release 0 --help && release_says 'Publishes nothing'
}

expect "release: without an option says what would be made" release_is_ready
expect "release: a prerelease is published as one" release_is_a_prerelease
expect "release: a missing tag is found" release_finds 'the tag v1.2.3 is missing' release_git tag -d v1.2.3
expect "release: a tag at another commit is found" release_finds 'the tag v1.2.3 is at' release_commit
expect "release: the tag of another version is found" release_finds 'HEAD has the tag v1.2.3, but VERSION says 1.2.4' another_version
expect "release: an invalid version is found" release_finds "VERSION is '1.2'" \
    eval 'echo 1.2 >VERSION; sed -i "s/^## 1.2.3/## 1.2/" CHANGELOG.md; release_commit; release_git tag v1.2; release_git tag -d v1.2.3'
expect "release: a tree with changes is found" release_finds 'the tree has changes' touch new
expect "release: a missing section is found" release_finds "CHANGELOG.md has no section '## 1.2.3 - YYYY-MM-DD'" \
    release_edit 's/^## 1.2.3 - .*/## 1.2.3/' CHANGELOG.md
expect "release: an empty section is found" release_finds 'the section 1.2.3 of CHANGELOG.md is empty' \
    release_edit '/^### Proxy/,/^  section/d' CHANGELOG.md
expect "release: unreleased changes are found" release_finds "CHANGELOG.md has text in 'Unreleased'" \
    release_edit 's/^## Unreleased/&\n\n- More./' CHANGELOG.md
expect "release: a document that says that nothing is published is found" \
    release_finds 'docs/install.md:1:Nothing has been published yet: after the release this is wrong' \
    release_edit 's/.*/Nothing has been published yet./' docs/install.md
for tool in make python3 x86_64-linux-gnu-gcc aarch64-linux-gnu-gcc dh npm; do
    expect "release: $tool is missing" release_finds "$tool is missing: " without_tool $tool
done
expect "release: files of another build are found" release_finds 'dist is not empty' full_dist
expect "release: --build makes everything, the notes and the sums" release_builds
expect "release: a program of another version is found" release_checks_the_program
expect "release: an unknown argument is an error" release_rejects_arguments
