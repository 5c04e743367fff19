# Completion of fawn for fish: fawn completion fish | source
function __fawn_complete
	set -l words (commandline -opc)
	set -l cur (commandline -ct)
	for line in ($words[1] __complete $words[2..-1] "$cur" 2>/dev/null)
		switch $line
			case ':files'
				__fish_complete_path "$cur"
			case ':folders'
				__fish_complete_directories "$cur"
			case '*'
				echo $line
		end
	end
end
complete -c fawn -f -a '(__fawn_complete)'
