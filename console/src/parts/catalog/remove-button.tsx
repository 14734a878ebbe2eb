import { useTexts } from '../../text/language.tsx';
import { type DialogProps, useDialog } from '../forms/use-dialog.ts';
import { SmallButton } from '../small.ts';
import { CatalogDialog } from './catalog-dialog.tsx';
import { catalogTexts } from './texts.ts';
import type { Catalog } from './use-catalog.ts';
import type { NamedSection } from './use-entry.ts';

interface RemoveProps {
  readonly catalog: Catalog;
  readonly section: NamedSection;
  readonly name: string;
}

/** Removes an entry of the catalog, after a look at the difference. */
export function RemoveDialog({ catalog, section, name, ...dialog }: RemoveProps & DialogProps) {
  const text = useTexts(catalogTexts);
  const title = text.removeOf(text.sections[section], name);
  return (
    <CatalogDialog {...dialog} title={title} catalog={catalog} edits={() => [{ path: [section, name] }]} size="lg" />
  );
}

export function RemoveButton(props: RemoveProps) {
  const text = useTexts(catalogTexts);
  const [open, dialog] = useDialog();
  return (
    <>
      <SmallButton onClick={open} aria-label={text.removeOf(text.sections[props.section], props.name)}>
        {text.remove}
      </SmallButton>
      <RemoveDialog {...props} {...dialog} />
    </>
  );
}
