import { chatProtocol } from './chat/protocol.ts';
import { messagesProtocol } from './messages/protocol.ts';

export const protocols = [chatProtocol, messagesProtocol] as const;

export type KnownProtocol = (typeof protocols)[number];
export type ProtocolName = KnownProtocol['name'];

export const protocolNames = protocols.map(({ name }) => name);

export function byProtocol<Value>(make: (protocol: KnownProtocol) => Value): Record<ProtocolName, Value> {
  return Object.fromEntries(protocols.map((protocol) => [protocol.name, make(protocol)])) as Record<
    ProtocolName,
    Value
  >;
}

const byName = byProtocol((protocol) => protocol);

export function protocolOf(name: ProtocolName): KnownProtocol {
  return byName[name];
}

export function findProtocol(name: unknown): KnownProtocol | null {
  return protocols.find((protocol) => protocol.name === name) ?? null;
}
