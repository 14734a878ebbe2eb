import { useTexts } from '../../text/language.tsx';
import { useDialog } from '../forms/use-dialog.ts';
import { SmallButton } from '../small.ts';
import { CatalogDialog } from './catalog-dialog.tsx';
import { catalogTexts } from './texts.ts';
import type { Catalog } from './use-catalog.ts';
import type { NamedSection } from './use-entry.ts';

interface RemoveButtonProps {
  readonly catalog: Catalog;
  readonly section: NamedSection;
  readonly name: string;
}

/** Removes an entry of the catalog, after a look at the difference. */
export function RemoveButton({ catalog, section, name }: RemoveButtonProps) {
  const text = useTexts(catalogTexts);
  const [open, dialog] = useDialog();
  const title = text.removeOf(text.sections[section], name);
  return (
    <>
      <SmallButton onClick={open} aria-label={title}>
        {text.remove}
      </SmallButton>
      <CatalogDialog {...dialog} title={title} catalog={catalog} edits={() => [{ path: [section, name] }]} size="lg" />
    </>
  );
}
