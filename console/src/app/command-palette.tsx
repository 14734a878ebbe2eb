import { Palette, type PaletteProps } from '../layout/palette.tsx';
import { COMMANDS } from './commands.ts';
import { PAGES } from './pages.ts';

/** The palette with all pages and commands. */
export function CommandPalette(props: Pick<PaletteProps, 'isOpen' | 'onClose'>) {
  return <Palette {...props} pages={PAGES} commands={COMMANDS} />;
}
