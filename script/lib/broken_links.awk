# Prints links of the given pages (Markdown) to a file or a heading that does not exist. Paths are relative to the
# working directory. Headings have the anchors that GitHub makes.

function anchor(heading) {
    heading = tolower(heading)
    sub(/^#+ +/, "", heading)
    gsub(/[^a-z0-9 _-]/, "", heading)
    gsub(/ /, "-", heading)
    return heading
}
FNR == 1 { isCode = 0; folder = FILENAME; if (!sub(/[^\/]*$/, "", folder)) folder = "" }
/^[ \t]*```/ { isCode = !isCode; next }
isCode { next }
/^#/ { anchors[FILENAME "#" anchor($0)] = 1 }
{
    line = $0
    gsub(/`[^`]*`/, "", line)
    while (match(line, /\]\([^)]*\)/)) {
        target = substr(line, RSTART + 2, RLENGTH - 3)
        line = substr(line, RSTART + RLENGTH)
        if (target ~ /^[a-z]+:/) continue
        count++
        places[count] = FILENAME ":" FNR ": " target
        files[count] = target ~ /^#/ ? FILENAME : folder target
        sub(/#.*/, "", files[count])
        while (sub(/[^\/]+\/\.\.\//, "", files[count])) {}
        fragments[count] = target ~ /#/ ? substr(target, index(target, "#")) : ""
    }
}
END {
    for (i = 1; i <= count; i++) {
        if (system("test -e \"" files[i] "\"") != 0) print places[i]
        else if (fragments[i] && !((files[i] fragments[i]) in anchors)) print places[i]
    }
}
