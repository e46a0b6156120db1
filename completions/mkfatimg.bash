# Completion of mkfatimg for bash 4 and newer.
_mkfatimg() {
    local cur=$2 flag=$3
    # --flag=value comes as three words.
    [[ $flag == = ]] && flag=${COMP_WORDS[COMP_CWORD - 2]}
    COMPREPLY=()
    case $flag in
        --symlinks)
            COMPREPLY=($(compgen -W 'follow host skip error' -- "$cur"))
            return
            ;;
        --dangling)
            COMPREPLY=($(compgen -W 'error skip' -- "$cur"))
            return
            ;;
        --special)
            COMPREPLY=($(compgen -W 'error skip' -- "$cur"))
            return
            ;;
        --invalid-names)
            COMPREPLY=($(compgen -W 'error replace skip' -- "$cur"))
            return
            ;;
        --clash)
            COMPREPLY=($(compgen -W 'error skip rename' -- "$cur"))
            return
            ;;
        --long-names)
            COMPREPLY=($(compgen -W 'auto always' -- "$cur"))
            return
            ;;
        --profile)
            COMPREPLY=($(compgen -W 'esp raspberry-pi sd-card usb floppy-360 floppy-720 floppy-1200 floppy-1440 floppy-2880 el-torito u-boot' -- "$cur"))
            return
            ;;
        --fat-type)
            COMPREPLY=($(compgen -W '12 16 32' -- "$cur"))
            return
            ;;
        --partition-table)
            COMPREPLY=($(compgen -W 'none mbr gpt' -- "$cur"))
            return
            ;;
        --direct)
            COMPREPLY=($(compgen -W 'auto always never' -- "$cur"))
            return
            ;;
        --digest)
            COMPREPLY=($(compgen -W 'sha256' -- "$cur"))
            return
            ;;
        --progress)
            COMPREPLY=($(compgen -W 'auto always never' -- "$cur"))
            return
            ;;
        --from | --exclude-from | --boot-code | --mbr-code | --into | --depfile | --map | --bmap)
            compopt -o bashdefault -o default
            return
            ;;
        --exclude | --attr | --size | --free | --cluster-size | --sector-size | --fats | --root-entries | --reserved-sectors | --align | --label | --volume-id | --oem-name | --media | --heads | --sectors-per-track | --hidden-sectors | --partition-start | --partition-type | --partition-label | --disk-id | --timezone | --mtime | --jobs)
            return
            ;;
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W '--from --overlay --exclude --exclude-from --symlinks --dangling --special --invalid-names --clash --long-names --windows-safe --attr --keep-readonly --size --free --profile --fat-type --cluster-size --sector-size --fats --root-entries --reserved-sectors --align --label --volume-id --oem-name --media --heads --sectors-per-track --hidden-sectors --boot-code --partition-table --partition-start --partition-type --partition-label --disk-id --mbr-code --timezone --mtime --into --if-changed --sync --preallocate --jobs --direct --verify --force --dry-run --depfile --map --bmap --digest --json --progress -q --quiet -v --verbose -h --help -V --version' -- "$cur"))
    else
        compopt -o bashdefault -o default
    fi
}
complete -F _mkfatimg mkfatimg
