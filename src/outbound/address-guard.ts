import { type LookupAddress, lookup } from 'node:dns'
import { BlockList, isIP } from 'node:net'

/** Addresses of this machine, of private networks and of none: webhooks of strangers must not reach them. */
const inside = new BlockList()
for (const [address, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  inside.addSubnet(address, prefix, 'ipv4')
for (const [address, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  inside.addSubnet(address, prefix, 'ipv6')

/** The part of IPv6 that has public addresses. Loopback, private, link-local and multicast ones, and all forms of IPv4 but 6to4, are elsewhere. */
const publicV6 = new BlockList()
publicV6.addSubnet('2000::', 3, 'ipv6')

/** Whether an address is not of the public network. */
export function isInside(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return inside.check(address, 'ipv4')
  return family === 0 || !publicV6.check(address, 'ipv6') || inside.check(address, 'ipv6')
}

type Answer = (error: Error | null, address: string | LookupAddress[], family?: number) => void

/** A lookup for sockets that refuses addresses inside: it is the address that is connected to which is checked, so no name can change between. */
export function guardedLookup(hostname: string, options: { all?: boolean | undefined }, answer: Answer): void {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error) return answer(error, [])
    const refused = found.find(({ address }) => isInside(address))
    const [first] = found
    if (refused || !first) return answer(new AddressRefused(hostname), [])
    if (options.all) answer(null, found)
    else answer(null, first.address, first.family)
  })
}

/** A webhook to an address inside. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
  readonly retryable = false

  constructor(host: string) {
    super(`${host} is an address of this machine or of a private network; allow it with allowPrivate`)
  }
}
