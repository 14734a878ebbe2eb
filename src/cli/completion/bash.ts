import type { CommandTree, CompletedCommand, Values } from './command-tree.ts';

/** Quotes a text for bash and zsh. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Also works in bash 3.2, which macOS has, except for names of files. */
export function bashScript({ commands, valued }: CommandTree): string {
  return `# Completion of faregate for bash.
_faregate_command() {
  subcommands='' options=''
  case "$1" in
${commands.map(commandCase).join('\n')}
  esac
}

_faregate_values() {
  words=''
  case "$1" in
${commands.flatMap(valueCases).join('\n')}
  esac
}

_faregate() {
  local current=\${COMP_WORDS[COMP_CWORD]} at='' option='' count=0 word words subcommands options i
  local valued=${quoted(` ${valued.join(' ')} `)}
  _faregate_command ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -n $option ]]; then
      option=''
    elif [[ $word == -* ]]; then
      [[ $valued == *" $word "* ]] && option=$word
    elif [[ $count -eq 0 && " $subcommands " == *" $word "* ]]; then
      at="\${at:+$at }$word"
      _faregate_command "$at"
    else
      count=$((count + 1))
    fi
  done
  if [[ -n $option ]]; then
    _faregate_values "$at $option"
  elif [[ $current == -* ]]; then
    words=$options
  elif [[ $count -eq 0 && -n $subcommands ]]; then
    words=$subcommands
  else
    _faregate_values "$at #$count"
  fi
  COMPREPLY=()
  if [[ $words == @files ]]; then
    compopt -o default 2>/dev/null
  else
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}

complete -F _faregate faregate`;
}

const wordsOf = (candidates: CompletedCommand['options']): string => candidates.map(({ word }) => word).join(' ');

function commandCase({ path, subcommands, options }: CompletedCommand): string {
  return `    ${quoted(path)}) subcommands=${quoted(wordsOf(subcommands))} options=${quoted(wordsOf(options))} ;;`;
}

const valueWords = (values: Values): string => (values === 'files' ? '@files' : values.join(' '));

const valueCases = ({ path, values }: CompletedCommand): string[] =>
  [...values].map(([of, each]) => `    ${quoted(`${path} ${of}`)}) words=${quoted(valueWords(each))} ;;`);
