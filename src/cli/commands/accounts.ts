import type { Command } from 'commander';
import type { CommandKit } from '../command.ts';
import { accountImportCommand } from '../import/account-import.ts';
import { accountCommands } from './account.ts';
import { accountMemberCommands } from './account-member.ts';

/** `faregate account` with what else stands below it. */
export function allAccountCommands(program: Command, kit: CommandKit): void {
  const account = accountCommands(program, kit);
  accountImportCommand(account, kit);
  accountMemberCommands(account, kit);
}
