import { quoted } from './bash.ts';
import type { Candidate, CommandTree, CompletedCommand } from './command-tree.ts';

export function zshScript({ commands, valued }: CommandTree): string {
  return `#compdef faregate
# Completion of faregate for zsh.
_faregate_command() {
  subcommands=() flags=()
  case "$1" in
${commands.map(commandCase).join('\n')}
  esac
}

_faregate_values() {
  case "$1" in
${commands.flatMap(valueCases).join('\n')}
  esac
}

_faregate() {
  local at='' option='' word
  local -a subcommands flags
  local -a valued=(${valued.map(quoted).join(' ')})
  integer count=0 i
  _faregate_command ''
  for ((i = 2; i < CURRENT; i++)); do
    word=$words[i]
    if [[ -n $option ]]; then
      option=''
    elif [[ $word == -* ]]; then
      (( $valued[(Ie)$word] )) && option=$word
    elif (( count == 0 && $subcommands[(I)\${(b)word}:*] )); then
      at="\${at:+$at }$word"
      _faregate_command "$at"
    else
      (( count += 1 ))
    fi
  done
  if [[ -n $option ]]; then
    _faregate_values "$at $option"
  elif [[ $words[CURRENT] == -* ]]; then
    _describe -o option flags
  elif (( count == 0 && $#subcommands )); then
    _describe command subcommands
  else
    _faregate_values "$at #$count"
  fi
}

if [[ $funcstack[1] == _faregate ]]; then
  _faregate "$@"
else
  compdef _faregate faregate
fi`;
}

/** `word:description`, as `_describe` reads it. */
const described = ({ word, about }: Candidate): string => quoted(`${word.replaceAll(':', '\\:')}:${about}`);

function commandCase({ path, subcommands, options }: CompletedCommand): string {
  const all = subcommands.map(described).join(' ');
  return `    ${quoted(path)}) subcommands=(${all}) flags=(${options.map(described).join(' ')}) ;;`;
}

const valueCases = ({ path, values }: CompletedCommand): string[] =>
  [...values].map(([of, each]) => {
    const completion = each === 'files' ? '_files' : `compadd -- ${each.map(quoted).join(' ')}`;
    return `    ${quoted(`${path} ${of}`)}) ${completion} ;;`;
  });
