import { bashScript } from './bash.ts';
import type { CommandTree } from './command-tree.ts';
import { fishScript } from './fish.ts';
import { powershellScript } from './powershell.ts';
import { zshScript } from './zsh.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript, powershell: powershellScript };

export type Shell = keyof typeof SCRIPTS;

export const shells = Object.keys(SCRIPTS) as readonly Shell[];

/** Returns the script with which a shell completes the commands of a program. It contains all words, and starts no process. */
export const completionScript = (shell: Shell, tree: CommandTree): string => SCRIPTS[shell](tree);
