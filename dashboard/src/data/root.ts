/** The path under which the server is mounted, with a slash at its end. The page carries the way to it, relative to its own address. */
export const root = new URL(document.querySelector<HTMLMetaElement>('meta[name=punctual-root]')?.content ?? './', location.href)
  .pathname

/** The address of a page of the dashboard. Parameters without a value are left out. */
export function pagePath(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const search = new URLSearchParams(Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : [])))
  return `${root}${path}${search.size > 0 ? `?${search}` : ''}`
}

/** The path of a page beneath the root, such as `jobs/nightly`. */
export function ownPath(path: string): string {
  return `${path}/`.startsWith(root) ? path.slice(root.length) : path
}
