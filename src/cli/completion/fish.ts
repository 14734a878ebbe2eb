import type { Candidate, CommandTree, CompletedCommand } from './command-tree.ts';

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

export function fishScript({ commands, valued }: CommandTree): string {
  return `# Completion of faregate for fish.
function __faregate_subcommands
    switch $argv[1]
${commands.flatMap(({ path, subcommands }) => listCase(path, subcommands)).join('\n')}
    end
end

function __faregate_options
    switch $argv[1]
${commands.flatMap(({ path, options }) => listCase(path, options)).join('\n')}
    end
end

function __faregate_values
    switch $argv[1]
${commands.flatMap(valueCases).join('\n')}
    end
end

function __faregate
    set -l valued ${valued.join(' ')}
    set -l at ''
    set -l option ''
    set -l count 0
    for word in (commandline -opc)[2..-1]
        if test -n "$option"
            set option ''
        else if string match -q -- '-*' $word
            contains -- $word $valued; and set option $word
        else if test $count -eq 0; and contains -- $word (__faregate_subcommands $at | string split -f 1 \\t)
            set at (string trim "$at $word")
        else
            set count (math $count + 1)
        end
    end
    if test -n "$option"
        __faregate_values "$at $option"
    else if string match -q -- '-*' (commandline -ct)
        __faregate_options $at
    else if test $count -eq 0; and test (count (__faregate_subcommands $at)) -gt 0
        __faregate_subcommands $at
    else
        __faregate_values "$at #$count"
    end
end

complete -c faregate -f -a '(__faregate)'`;
}

function listCase(path: string, candidates: readonly Candidate[]): string[] {
  if (candidates.length === 0) return [];
  const words = candidates.flatMap(({ word, about }) => [quoted(word), quoted(about)]);
  return [`        case ${quoted(path)}`, `            printf '%s\\t%s\\n' ${words.join(' ')}`];
}

const valueCases = ({ path, values }: CompletedCommand): string[] =>
  [...values].flatMap(([of, each]) => {
    const words =
      each === 'files' ? '__fish_complete_path (commandline -ct)' : `printf '%s\\n' ${each.map(quoted).join(' ')}`;
    return [`        case ${quoted(`${path} ${of}`)}`, `            ${words}`];
  });
