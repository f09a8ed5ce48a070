/** The last part of a folder's path: what people call a project. */
export function projectName(root: string): string {
  return root.split('/').filter(Boolean).at(-1) ?? root
}
