import type { Command } from 'commander';
import type { CommandKit } from '../command.ts';

/** `faregate serve` */
export function serveCommand(program: Command, kit: CommandKit): void {
  program
    .command('serve')
    .description('run the gateway (without a configuration file: a demo)')
    .option('--host <host>', 'where to listen (default: $HOST or the configuration)')
    .option('--port <port>', 'where to listen; 0 picks a free port (default: $PORT or the configuration)')
    .action(
      kit.plain(async (flags) => {
        // Other commands need not wait until a whole gateway is loaded.
        const { serveGateway } = await import('./serve-gateway.ts');
        return serveGateway(flags, kit.process);
      }),
    );
}
