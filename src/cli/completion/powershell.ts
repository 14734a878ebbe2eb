import type { Candidate, CommandTree, CompletedCommand, Values } from './command-tree.ts';

const quoted = (text: string): string => `'${text.replaceAll(/['‘’]/g, '$&$&')}'`;

export function powershellScript({ commands, valued }: CommandTree): string {
  return `# Completion of faregate for PowerShell.
Register-ArgumentCompleter -Native -CommandName faregate -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $valued = @(${valued.map(quoted).join(', ')})
  $subcommands = @{
${commands.map(({ path, subcommands }) => entry(path, subcommands)).join('\n')}
  }
  $options = @{
${commands.map(({ path, options }) => entry(path, options)).join('\n')}
  }
  $values = @{
${commands.flatMap(valueEntries).join('\n')}
  }
  $at = ''
  $option = ''
  $count = 0
  foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {
    if ($element.Extent.EndOffset -ge $cursorPosition) { break }
    $word = $element.ToString()
    if ($option) { $option = '' }
    elseif ($word.StartsWith('-')) { if ($valued -ccontains $word) { $option = $word } }
    elseif ($count -eq 0 -and $subcommands[$at] -and $subcommands[$at].Contains($word)) { $at = "$at $word".Trim() }
    else { $count++ }
  }
  $found = [ordered]@{}
  if ($option) { $values["$at $option"] | Where-Object { $_ } | ForEach-Object { $found[$_] = $_ } }
  elseif ($wordToComplete.StartsWith('-')) { $found = $options[$at] }
  elseif ($count -eq 0 -and $subcommands[$at].Count -gt 0) { $found = $subcommands[$at] }
  else { $values["$at #$count"] | Where-Object { $_ } | ForEach-Object { $found[$_] = $_ } }
  $found.GetEnumerator() | Where-Object { $_.Key -clike "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_.Key, $_.Key, 'ParameterValue', $_.Value)
  }
}`;
}

/** PowerShell completes names of files by itself if there is no other result. */
const valueEntries = ({ path, values }: CompletedCommand): string[] =>
  [...values].flatMap(([of, each]) => (each === 'files' ? [] : [`    ${quoted(`${path} ${of}`)} = ${arrayOf(each)}`]));

const arrayOf = (words: Exclude<Values, 'files'>): string => `@(${words.map(quoted).join(', ')})`;

function entry(path: string, candidates: readonly Candidate[]): string {
  const pairs = candidates.map(({ word, about }) => `${quoted(word)} = ${quoted(about)}`);
  return `    ${quoted(path)} = [ordered]@{ ${pairs.join('; ')} }`;
}
