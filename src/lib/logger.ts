/** Methods of a pino logger that the gateway uses. */
export interface Logger {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

export function loggerWith(logger: Logger, added: object): Logger {
  const line =
    (level: keyof Logger) =>
    (details: object, message: string): void =>
      logger[level]({ ...added, ...details }, message);
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
