import type { CommandRows } from '../command-rows.ts';
import { commandTree } from '../completion/command-tree.ts';
import { completionScript, type Shell, shells } from '../completion/scripts.ts';

const HELP = `
Install the script once, and again after an update of Faregate:

  bash        faregate completion bash > ~/.local/share/bash-completion/completions/faregate
  zsh         faregate completion zsh > DIRECTORY/_faregate     (a directory of $fpath)
  fish        faregate completion fish > ~/.config/fish/completions/faregate.fish
  PowerShell  faregate completion powershell >> $PROFILE

Or try it in this shell:  source <(faregate completion bash)`;

export const completionCommands: CommandRows = {
  'completion <shell>': {
    about: 'print a script with which a shell completes commands, options and their values',
    with: { '<shell>': { text: 'the shell', choices: shells } },
    help: HELP,
    describes: (program, { shell }) => completionScript(shell as Shell, commandTree(program)),
  },
};
