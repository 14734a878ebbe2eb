import { splitConfig } from '../../src/config/catalog-text.ts';
import { testConfigText } from '../support/gateway.ts';

/** The variables of `catalogText`. */
export const CREDENTIALS = { CHATTY_KEY: 'provider-secret-key-1', MESSY_KEY: 'provider-secret-key-2' };

/** The catalog of the test configuration, whose credentials are variables. */
export function catalogText(providerUrl: string): string {
  const { catalog } = splitConfig(testConfigText(providerUrl));
  return catalog.replace(CREDENTIALS.CHATTY_KEY, `"\${CHATTY_KEY}"`).replace(CREDENTIALS.MESSY_KEY, `"\${MESSY_KEY}"`);
}
