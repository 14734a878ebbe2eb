import type { Command } from 'commander';
import type { CommandKit } from '../kit.ts';

/** A file of commands. It is loaded only if one of them is called, because loading code is most of a command's start time. */
interface CommandFile {
  /** The first words of its commands. */
  readonly names: readonly string[];
  load(): Promise<(program: Command, kit: CommandKit) => void>;
}

/** Every command, in the order of `faregate --help`. */
const commandFiles: readonly CommandFile[] = [
  { names: ['serve'], load: async () => (await import('../serve/serve.ts')).serveCommand },
  { names: ['init', 'check'], load: async () => (await import('./config.ts')).configCommands },
  { names: ['models'], load: async () => (await import('./models.ts')).modelCommands },
  { names: ['config'], load: async () => (await import('./running-config.ts')).runningConfigCommand },
  { names: ['catalog'], load: async () => (await import('./catalog.ts')).catalogCommands },
  { names: ['reload'], load: async () => (await import('./catalog.ts')).reloadCommand },
  { names: ['doctor'], load: async () => (await import('../doctor/doctor.ts')).doctorCommand },
  { names: ['account'], load: async () => (await import('./account.ts')).accountCommands },
  { names: ['import'], load: async () => (await import('./import.ts')).importCommands },
  { names: ['key'], load: async () => (await import('./key.ts')).keyCommands },
  { names: ['plan'], load: async () => (await import('./plan.ts')).planCommands },
  { names: ['route'], load: async () => (await import('./route.ts')).routeCommands },
  { names: ['provider'], load: async () => (await import('./provider.ts')).providerCommands },
  { names: ['calls'], load: async () => (await import('./calls.ts')).callsCommand },
  { names: ['refusals'], load: async () => (await import('./refusals.ts')).refusalsCommand },
  { names: ['changes'], load: async () => (await import('./changes.ts')).changesCommand },
  { names: ['webhook'], load: async () => (await import('./webhook.ts')).webhookCommands },
  { names: ['usage'], load: async () => (await import('./usage.ts')).usageCommand },
  { names: ['latency'], load: async () => (await import('./latency.ts')).latencyCommand },
  { names: ['statement'], load: async () => (await import('./statement.ts')).statementCommand },
  { names: ['token'], load: async () => (await import('./token.ts')).tokenCommands },
  { names: ['user'], load: async () => (await import('./user.ts')).userCommands },
  { names: ['voucher'], load: async () => (await import('./voucher.ts')).voucherCommands },
  { names: ['audit'], load: async () => (await import('./audit.ts')).auditCommand },
  { names: ['db'], load: async () => (await import('./db.ts')).databaseCommands },
];

/** Returns the files with the command that the arguments name. Returns all files if they name none, as with `--help`. */
export function neededCommands(argv: readonly string[]): readonly CommandFile[] {
  if (argv.includes('--version') || argv.includes('-V')) return [];
  const named = commandFiles.filter(({ names }) => names.some((name) => argv.includes(name)));
  return named.length === 0 ? commandFiles : named;
}
