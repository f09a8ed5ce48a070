import { X509Certificate } from 'node:crypto'
import { errors } from '@nats-io/transport-node'
import { type FleetErrorCode, fleetError } from '../fleet-error.ts'

/** Explains why a machine has no connection, with a way out. */
export function connectionRefusal(
  error: unknown,
  { url, cert }: { url: string; cert: string },
  now = new Date(),
) {
  const { code, text } = explain(error, { url, cert }, now)
  return fleetError(code, text, error)
}

function explain(
  error: unknown,
  { url, cert }: { url: string; cert: string },
  now: Date,
): { code: FleetErrorCode; text: string } {
  const why = error instanceof Error ? error.message : String(error)
  const broker = `The broker at ${url}`
  if (isRefusedKey(error))
    return {
      code: 'fleet-refused',
      text: `${broker} does not let this machine in: ${why}. Its rights were taken away, or the fleet was made anew. To join again: \`chirality fleet leave\` here, \`chirality fleet invite\` on the hub.`,
    }
  const codes = codesOf(error)
  const has = (...names: string[]) => names.some(name => codes.includes(name))
  if (has('CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID')) return { code: 'fleet-refused', text: clock(cert, now) }
  if (has('ERR_TLS_CERT_ALTNAME_INVALID'))
    return { code: 'fleet-refused', text: `${broker} has a certificate for another address: ${why}.` }
  if (has(...OTHER_CERTIFICATE))
    return {
      code: 'fleet-refused',
      text: `${broker} does not have the certificate of this fleet (${why}): another program answers there, or the fleet was made anew. Compare the fingerprints of \`chirality fleet status\` here and on the hub.`,
    }
  // The brokers of a cluster are started by the user, a single one by its server.
  const text = url.includes(',')
    ? `None of the brokers at ${url} can be reached: ${why}. Start them (\`systemctl --user start chirality-broker\`, or \`docker compose up -d\` in their folder), and look whether a firewall is between.`
    : `${broker} cannot be reached: ${why}. Start \`chirality serve --fleet\` on the machine that has it, and look whether a firewall is between.`
  return { code: 'fleet-no-broker', text }
}

export function isRefusedKey(error: unknown): boolean {
  return error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError
}

/** Explains an expired certificate. It holds for ten years, so usually one of the clocks is wrong. */
function clock(cert: string, now: Date): string {
  const { validFrom, validTo } = new X509Certificate(cert)
  const day = (text: string | Date) => new Date(text).toISOString().slice(0, 10)
  const held = `The certificate of the fleet holds from ${day(validFrom)} to ${day(validTo)}, and this machine's clock says ${day(now)}.`
  return now > new Date(validTo)
    ? `${held} If the clock is right, make the fleet anew: \`chirality fleet leave --force\` and \`chirality fleet init\` on the hub, then let the others join. Otherwise set the clock.`
    : `${held} Set the clock.`
}

function codesOf(error: unknown): string[] {
  const codes: string[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause) codes.push(String(cause.code))
  return codes
}

const OTHER_CERTIFICATE = [
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'CERT_SIGNATURE_FAILURE'],
]
