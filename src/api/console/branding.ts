import { type LogoContent, logoContent } from '../../config/logo.ts';
import type { Config } from '../../config/schema.ts';
import { CONSOLE_PATH } from '../../people/console-path.ts';
import { etagOf, type FileHandler, fileHandler } from '../served-file.ts';

export type BrandingSettings = Pick<Config, 'branding' | 'console'>;

/** Path of the logo below `/console/`. */
export const LOGO_PATH = 'logo';

/** Address of the icon in the page. */
const ICON = `${CONSOLE_PATH}/icon.svg`;

const DEFAULT_NAME = 'Faregate';

/** A page cannot run scripts of an SVG that it shows as an image. This policy also covers an SVG that is opened by itself. */
const LOGO_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

interface ServedLogo {
  readonly dataUrl: string;
  readonly address: string;
  readonly handler: FileHandler;
}

/** The logo of the last request, so that it is decoded once per configuration. */
let served: ServedLogo | null = null;

function logoOf({ branding }: BrandingSettings): ServedLogo | null {
  const { logo } = branding;
  if (logo === undefined) return null;
  if (served?.dataUrl !== logo) served = toServed(logo, logoContent(logo));
  return served;
}

function toServed(dataUrl: string, { contentType, bytes }: LogoContent): ServedLogo {
  const headers = { 'content-security-policy': LOGO_POLICY };
  // The address has the version, so that browsers show a new logo at once.
  const address = `${CONSOLE_PATH}/${LOGO_PATH}?v=${encodeURIComponent(etagOf(bytes).slice(1, 9))}`;
  const file = { contentType, headers, cacheControl: 'public, max-age=300', read: () => bytes };
  return { dataUrl, address, handler: fileHandler(file) };
}

/** Returns the handler of the logo; `null`: there is none. */
export function servedLogo(settings: BrandingSettings): FileHandler | null {
  return logoOf(settings)?.handler ?? null;
}

/** Writes name, logo and support address into a page of the console, where its script reads them (`console/src/parts/branding.ts`). */
export function writeBranding(page: string, settings: BrandingSettings): string {
  const { name = DEFAULT_NAME, supportAddress = null } = settings.branding;
  const logo = logoOf(settings)?.address ?? null;
  const values: Readonly<Record<string, string>> = {
    BRAND_NAME: name,
    // Empty if nothing is set: the page knows the defaults.
    BRANDING:
      Object.keys(settings.branding).length === 0 ? '' : JSON.stringify({ name, logo: logo ?? ICON, supportAddress }),
    [ICON]: logo ?? ICON,
  };
  return page.replace(/BRAND_NAME|BRANDING|\/console\/icon\.svg/g, (place) => escapeHtml(values[place]!));
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
