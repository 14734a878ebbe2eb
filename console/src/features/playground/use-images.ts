import { useRef, useState } from 'react';
import type { AttachedImage } from './conversation.ts';

export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;
export const IMAGES_MAX = 8;
const IMAGE_BYTES_MAX = 5_000_000;

/** Why images were not attached. */
export type ImageProblem = { readonly kind: 'tooMany' } | { readonly kind: 'refused'; readonly name: string };

/** The images of the message that is being written. */
export function useImages() {
  const [images, setImages] = useState<readonly AttachedImage[]>([]);
  const nextId = useRef(0);
  const [problem, setProblem] = useState<ImageProblem | null>(null);

  async function attach(files: readonly File[]): Promise<void> {
    const refused = files.find(({ type, size }) => !isImageType(type) || size > IMAGE_BYTES_MAX);
    if (refused !== undefined) return setProblem({ kind: 'refused', name: refused.name });
    if (images.length + files.length > IMAGES_MAX) return setProblem({ kind: 'tooMany' });
    setProblem(null);
    const read = await Promise.all(
      files.map(async (file) => ({ id: nextId.current++, name: file.name, dataUrl: await dataUrlOf(file) })),
    );
    setImages((before) => [...before, ...read].slice(0, IMAGES_MAX));
  }

  return {
    images,
    problem,
    attach,
    remove: (removed: AttachedImage): void => setImages((before) => before.filter((image) => image !== removed)),
    set: (next: readonly AttachedImage[]): void => {
      setProblem(null);
      setImages(next);
    },
  };
}

function isImageType(type: string): boolean {
  return IMAGE_TYPES.some((each) => each === type);
}

function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
