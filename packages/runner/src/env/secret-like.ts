/** Names and values that must not reach a child by accident. The second layer, behind the allow-list. */
export function isSecretLike(name: string, value: string): boolean {
  return (
    SECRET_NAMES.some(pattern => pattern.test(name)) || SECRET_VALUES.some(pattern => pattern.test(value))
  )
}

const SECRET_NAMES = [
  /_(SECRET|PASSWORD|CREDENTIAL|KEY|TOKEN|API_KEY)$/i,
  /^(DATABASE_URL|REDIS_URL)$/i,
  /^(SECRET|PASSWORD|CREDENTIALS?|TOKEN|API_?KEY)$/i,
]

const SECRET_VALUES = [
  // A URL with a password in it.
  /[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i,
  /\bsk-[A-Za-z0-9_-]{16,}/,
  /\bgh[pousr]_[A-Za-z0-9]{16,}/,
  /\bgithub_pat_[A-Za-z0-9_]{16,}/,
  /\bglpat-[A-Za-z0-9_-]{16,}/,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,}/,
  /\bnpm_[A-Za-z0-9]{30,}/,
  /\b(AKIA|ASIA)[A-Z0-9]{16}\b/,
  /\bAIza[A-Za-z0-9_-]{30,}/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  // A JSON Web Token.
  /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\./,
]
