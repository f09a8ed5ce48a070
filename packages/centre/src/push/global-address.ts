import { BlockList, isIP } from 'node:net'

/**
 * Whether an address is one of the public internet. Only global unicast addresses are, without what the registries of
 * IANA set apart: own networks, documentation, multicast, and the prefixes that lead to an IPv4 address inside (mapped,
 * NAT64, 6to4, Teredo).
 */
export function isGlobalAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !SPECIAL.check(address, 'ipv4')
    case 6:
      // A zone names an interface of this machine.
      return !address.includes('%') && UNICAST.check(address, 'ipv6') && !SPECIAL.check(address, 'ipv6')
    default:
      return false
  }
}

const UNICAST = new BlockList()
UNICAST.addSubnet('2000::', 3, 'ipv6')

const SPECIAL = new BlockList()
for (const range of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3'],
  // Protocol assignments with Teredo, documentation, 6to4, documentation.
  ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
]) {
  const [address = '', bits] = range.split('/')
  SPECIAL.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
