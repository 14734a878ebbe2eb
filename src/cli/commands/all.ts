import type { CommandRows } from '../command-rows.ts';

type Load = () => Promise<CommandRows>;

/**
 * Every command by its first word, in the order of `faregate --help`. A file is loaded only if one of its commands is called, because
 * loading code takes most of a command's start time.
 */
const loads: Readonly<Record<string, Load>> = {
  serve: async () => (await import('../serve/serve.ts')).serveCommands,
  'init check': async () => (await import('./config.ts')).configCommands,
  models: async () => (await import('./models.ts')).modelCommands,
  config: async () => (await import('./running-config.ts')).runningConfigCommands,
  catalog: async () => (await import('./catalog.ts')).catalogCommands,
  reload: async () => (await import('./catalog.ts')).reloadCommands,
  doctor: async () => (await import('../doctor/doctor.ts')).doctorCommands,
  account: async () => (await import('./account.ts')).accountCommands,
  group: async () => (await import('./group.ts')).groupCommands,
  import: async () => (await import('./import.ts')).importCommands,
  key: async () => (await import('./key.ts')).keyCommands,
  plan: async () => (await import('./plan.ts')).planCommands,
  route: async () => (await import('./route.ts')).routeCommands,
  provider: async () => (await import('./provider.ts')).providerCommands,
  secret: async () => (await import('./secret.ts')).secretCommands,
  'calls refusals': async () => (await import('./calls.ts')).callCommands,
  changes: async () => (await import('./changes.ts')).changeCommands,
  announcement: async () => (await import('./announcement.ts')).announcementCommands,
  webhook: async () => (await import('./webhook.ts')).webhookCommands,
  usage: async () => (await import('./usage.ts')).usageCommands,
  latency: async () => (await import('./latency.ts')).latencyCommands,
  statement: async () => (await import('./statement.ts')).statementCommands,
  invoice: async () => (await import('./invoice.ts')).invoiceCommands,
  token: async () => (await import('./token.ts')).tokenCommands,
  user: async () => (await import('./user.ts')).userCommands,
  voucher: async () => (await import('./voucher.ts')).voucherCommands,
  audit: async () => (await import('./audit.ts')).auditCommands,
  db: async () => (await import('./db.ts')).databaseCommands,
  completion: async () => (await import('./completion.ts')).completionCommands,
};

/**
 * Returns what loads the command that the arguments name; all commands if they name none, as with `--help`, or if the command describes all
 * others.
 */
export function neededCommands(argv: readonly string[]): readonly Load[] {
  if (argv.includes('--version') || argv.includes('-V')) return [];
  const named = Object.keys(loads).filter((names) => names.split(' ').some((name) => argv.includes(name)));
  return (named.length === 0 || argv.includes('completion') ? Object.keys(loads) : named).map((names) => loads[names]!);
}
