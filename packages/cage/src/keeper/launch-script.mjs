// @ts-check
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { INSIDE } from './bubblewrap.mjs'
import { CONTROL_HOST } from './proxy.mjs'

/**
 * The first program of the cage: bridges its loopback to the sockets, tries to leave, and becomes the agent when the
 * keeper says so. A shell, because it has to run in every cage and to start at once.
 * @param {{ plan: import('../cage-plan.ts').CagePlan, sockets: string, probe: import('./probe.mjs').ProbeTargets, proxyPort: number }} options
 */
export async function writeLaunchScript({ plan, sockets, probe, proxyPort }) {
  const ports = [proxyPort, ...plan.gateways.map(({ port }) => port), ...plan.ports]
  const script = [
    `socat=${quoted(plan.socat)}`,
    ...ports.map(bridge),
    ...ports.map(awaitListener),
    ...tries(probe, proxyPort),
    'wait',
    "printf 'end\\n' >&3",
    // The keeper closes the channel if it refuses: the agent does not start then.
    'read -r go <&3 || exit 1',
    '[ "$go" = go ] || exit 1',
    'exec 3>&-',
    `rm -f ${quoted(probe.homeWrite)}`,
    'exec "$@"',
    '',
  ]
  await writeFile(path.join(sockets, 'launch.sh'), script.join('\n'), { mode: 0o600 })
}

/**
 * In a subshell that exits: the agent gets no child that it did not start.
 * @param {number} port
 */
function bridge(port) {
  const listen = `TCP4-LISTEN:${port},bind=127.0.0.1,fork,reuseaddr,backlog=128`
  return `( "$socat" ${listen} UNIX-CONNECT:${INSIDE}/${port}.sock </dev/null >/dev/null 2>&1 3>&- & )`
}

/** @param {number} port */
function awaitListener(port) {
  const address = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A`
  return `tried=0; until grep -q '${address}' /proc/net/tcp; do tried=$((tried + 1)); [ "$tried" -lt 1000 ] || exit 1; sleep 0.01; done`
}

/**
 * Each attempt writes one line: its name, and `through` if it left the cage. They run beside each other.
 * @param {import('./probe.mjs').ProbeTargets} targets
 * @param {number} proxyPort
 */
function tries(targets, proxyPort) {
  const proxy = `TCP4:127.0.0.1:${proxyPort}`
  const connects = (/** @type {string} */ address) =>
    `"$socat" -T2 -u OPEN:/dev/null ${address} >/dev/null 2>&1`
  const asks = (/** @type {string} */ text, /** @type {string} */ address) =>
    `printf '${text}' | "$socat" -t5 -T5 - ${address} 2>/dev/null`
  const [address, port] = targets.rawAddress
  return [
    `control=$(${asks(`GET http://${CONTROL_HOST}/ HTTP/1.1\\r\\nHost: ${CONTROL_HOST}\\r\\n\\r\\n`, proxy)} | tail -n 1)`,
    `printf 'control %s\\n' "$control" >&3`,
    attempt('home-read', `cat ${quoted(targets.homeCanary)} >/dev/null 2>&1`),
    attempt('home-write', `{ echo > ${quoted(targets.homeWrite)}; } 2>/dev/null && false`),
    attempt('data-read', targets.dataFiles.map(file => `cat ${quoted(file)} >/dev/null 2>&1`).join(' || ')),
    attempt(
      'system-write',
      [
        ...targets.systemWrites.map(file => `{ echo > ${quoted(file)}; } 2>/dev/null`),
        // The value that is there already. Root writes it for the whole machine.
        '{ old=$(cat /proc/sys/kernel/core_pattern) && printf %s "$old" > /proc/sys/kernel/core_pattern; } 2>/dev/null',
      ].join(' || '),
    ),
    attempt(
      'foreign-host',
      `! ${asks('CONNECT foreign.chirality.invalid:443 HTTP/1.1\\r\\nHost: foreign.chirality.invalid:443\\r\\n\\r\\n', proxy)} | head -n 1 | grep -q '^HTTP/1.1 403 '`,
    ),
    attempt('raw-address', connects(`TCP4:${address}:${port},connect-timeout=2`)),
    attempt('metadata-address', connects('TCP4:169.254.169.254:80,connect-timeout=2')),
    attempt(
      'dns',
      `[ -n "$(${asks(DNS_QUERY, `UDP4:${targets.nameServer}:53`)} | head -c 1 | od -An -tx1)" ]`,
    ),
    attempt('host-loopback', connects(`TCP4:127.0.0.1:${targets.loopbackPort},connect-timeout=2`)),
    // Node fills the name up with zeros.
    attempt('abstract-socket', connects(`ABSTRACT-CONNECT:${targets.abstractName},unix-tightsocklen=0`)),
    attempt(
      'host-processes',
      // grep fails as a whole for a process that has exited meanwhile.
      `[ -n "$(printf '%s' ${quoted(targets.nonce)} | grep -lsFf - /proc/[0-9]*/cmdline /proc/[0-9]*/environ)" ]`,
    ),
  ]
}

/** Asks for the address of example.com. */
const DNS_QUERY =
  '\\021\\021\\001\\000\\000\\001\\000\\000\\000\\000\\000\\000\\007example\\003com\\000\\000\\001\\000\\001'

/**
 * @param {import('../cage-plan.ts').CageTryName} name
 * @param {string} test
 */
function attempt(name, test) {
  return `( if ${test}; then printf '${name} through\\n' >&3; else printf '${name} held\\n' >&3; fi ) &`
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
