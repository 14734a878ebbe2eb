/** Operations of clients that can be translated, each with the operations of providers to which they are. */
export const translatedTo = {
  chat: ['messages'],
  messages: ['chat'],
  responses: ['chat', 'messages'],
} as const;

export type ClientFormName = keyof typeof translatedTo;
export type ProviderFormName = 'chat' | 'messages';

export const clientFormNames = Object.keys(translatedTo) as [ClientFormName, ...ClientFormName[]];

/**
 * Returns the operation of the provider that serves a translated one; `null` if there is none.
 * @param protocol protocol of the provider
 */
export function providerFormOf(operation: string, protocol: string): ProviderFormName | null {
  if (!Object.hasOwn(translatedTo, operation)) return null;
  const targets: readonly ProviderFormName[] = translatedTo[operation as ClientFormName];
  return targets.find((target) => target === protocol) ?? null;
}
