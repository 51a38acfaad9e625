import { Refusal } from '../problem.ts'

const loopbackNames: readonly string[] = ['127.0.0.1', '::1', 'localhost']

/** A page of another site whose name was pointed at this machine sends that name; a browser would let it read the answer. */
export function isForLoopback(request: Request): boolean {
  return loopbackNames.includes(new URL(request.url).hostname.replace(/^\[|\]$/g, ''))
}

export function isLoopback(host: string): boolean {
  return loopbackNames.includes(host)
}

/** Refuses what a page of another origin makes a browser send. Programs send neither header. */
export function checkOrigin(request: Request, others: readonly string[]): void {
  const origin = request.headers.get('origin')
  const site = request.headers.get('sec-fetch-site')
  const own = new URL(request.url)
  const isOwn = origin !== null && (hostOf(origin) === own.host || others.includes(origin))
  if (isOwn) return
  const isWrite = request.method !== 'GET' && request.method !== 'HEAD'
  const isNavigation = !isWrite && request.headers.get('sec-fetch-mode') === 'navigate'
  const isForeignSite = site !== null && site !== 'same-origin' && site !== 'none' && !isNavigation
  if (origin === null && !isForeignSite) return
  throw new Refusal('access.origin', 'Pages of other origins may not send requests here with the credentials of this one')
}

/** Behind a proxy that ends TLS the scheme differs; host and port must not. */
function hostOf(origin: string): string | null {
  try {
    return new URL(origin).host
  } catch {
    return null
  }
}
