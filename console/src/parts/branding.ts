/** What people see in place of the name and the logo of Faregate. The gateway writes it into the page (`src/api/console/branding.ts`). */
export interface Branding {
  readonly name: string;
  /** Address of the logo; `null`: that of Faregate. */
  readonly logo: string | null;
  /** An e-mail address or an https address. */
  readonly supportAddress: string | null;
  /** Whether the gateway serves the price page. */
  readonly hasPricing: boolean;
}

const PLAIN: Branding = { name: 'Faregate', logo: null, supportAddress: null, hasPricing: false };

export const BRANDING: Branding = readBranding();

/** The address that a link to the support has. */
export function supportLink(address: string): string {
  return address.startsWith('https://') ? address : `mailto:${address}`;
}

function readBranding(): Branding {
  const written = document.querySelector<HTMLMetaElement>('meta[name="branding"]')?.content ?? '';
  // Vite's server does not write it.
  return written.startsWith('{') ? (JSON.parse(written) as Branding) : PLAIN;
}
