# Prints comment lines wider than 100 characters. Lines of a table or of a code block in the documentation, and
# lines that cannot be broken, may be wider: rustfmt checks none of them.
FNR == 1 { block = 0 }
{
    line = $0
    if (line !~ /^[ \t]*\/\//) { block = 0; next }
    text = line
    sub(/^[ \t]*\/\/[\/!]?[ \t]*/, "", text)
    if (text ~ /^```/) { block = !block; next }
    gsub(/[\200-\277]/, "", line)
    if (length(line) > 100 && !block && text !~ /^\|/ && text ~ / /) {
        print FILENAME ":" FNR ": comment wider than 100 characters"
        wide = 1
    }
}
END { exit wide }
