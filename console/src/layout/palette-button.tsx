import { ActionIcon, Box, Button, Kbd } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { SearchIcon } from '@primer/octicons-react';
import { useEffect, useState } from 'react';
import type { LoadedLater } from '../parts/loaded-later.tsx';
import { pageTexts } from '../parts/texts.ts';
import { useTexts } from '../text/language.tsx';

const texts = pageTexts({ palette: 'Search and commands' }, { palette: '搜索与命令' });

const PRELOAD_MS = 2_000;
/** Where a placeholder is shown while the code loads. */
const HEADER_PX = 56;
const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

export interface PaletteDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Opens the palette, also with Ctrl-K or Cmd-K. Its code loads on first use. */
export function PaletteButton({ palette }: { readonly palette: LoadedLater<PaletteDialogProps> }) {
  const text = useTexts(texts);
  const [isOpen, { open: show, close }] = useDisclosure(false);
  /** Stays true, so that the closed palette can return the focus. */
  const [isWanted, setWanted] = useState(false);
  const open = (): void => {
    setWanted(true);
    show();
  };
  // Later than all that the page itself needs.
  useEffect(() => {
    const timer = setTimeout(palette.preload, PRELOAD_MS);
    return () => clearTimeout(timer);
  }, [palette]);
  // A dialog may show a secret, or have an unfinished form.
  const openAlone = (): void => {
    if (document.querySelector('[aria-modal="true"]') === null) open();
  };
  useHotkeys([['mod+K', openAlone]], [], true);
  return (
    <>
      <Button
        visibleFrom="sm"
        variant="default"
        size="xs"
        leftSection={<SearchIcon />}
        rightSection={<Kbd size="xs">{isMac ? '⌘ K' : 'Ctrl K'}</Kbd>}
        onClick={open}
        onPointerEnter={palette.preload}
        aria-keyshortcuts="Control+K Meta+K"
      >
        {text.search}
      </Button>
      <ActionIcon hiddenFrom="sm" variant="subtle" color="gray" size="lg" aria-label={text.palette} onClick={open}>
        <SearchIcon />
      </ActionIcon>
      {isWanted && (
        <Box pos="fixed" top={HEADER_PX} left="50%">
          <palette.Component isOpen={isOpen} onClose={close} />
        </Box>
      )}
    </>
  );
}
