export type Redactor = (text: string) => string

export const REDACTED = '[redacted]'

/**
 * Redacts known secrets in all their encodings, and whatever looks like a key, a token or a password. Pass whole texts:
 * a part of a secret is not recognised.
 */
export function createRedactor(secrets: Iterable<string> = []): Redactor {
  const forms = new Set<string>()
  for (const secret of secrets) {
    // Shorter secrets are ordinary words; redacting them would damage the text and reveal them.
    if (secret.length >= MIN_SECRET_CHARS) for (const form of formsOf(secret)) forms.add(form)
  }
  // Longest first, so that a secret that contains another is redacted as a whole.
  const values = [...forms].sort((a, b) => b.length - a.length)
  return text => {
    let clean = text
    for (const value of values) clean = clean.replaceAll(value, REDACTED)
    for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement)
    return clean
  }
}

const MIN_SECRET_CHARS = 8

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('base64'),
    bytes.toString('base64').replaceAll('=', ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ]
}

const PATTERNS: [RegExp, string][] = [
  // Up to its end, or to where the text was cut.
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, REDACTED],
  [/\b([a-z][a-z0-9+.-]{0,32}:\/\/[^/\s:@"']{0,256}:)[^/\s@"']{1,1024}@/gi, `$1${REDACTED}@`],
  [/\bsk-[A-Za-z0-9_-]{16,}/g, REDACTED],
  [/\bgh[pousr]_[A-Za-z0-9]{16,}/g, REDACTED],
  [/\bgithub_pat_[A-Za-z0-9_]{16,}/g, REDACTED],
  [/\bglpat-[A-Za-z0-9_-]{16,}/g, REDACTED],
  [/\bxox[abeprs]-[A-Za-z0-9-]{10,}/g, REDACTED],
  [/\bnpm_[A-Za-z0-9]{30,}/g, REDACTED],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, REDACTED],
  [/\bAIza[A-Za-z0-9_-]{30,}/g, REDACTED],
  // A JSON Web Token.
  [/\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, REDACTED],
  [/\b(Bearer|Basic)\s+[A-Za-z0-9+/._~=-]{8,}/gi, `$1 ${REDACTED}`],
  // `NAME=value` and `"name": "value"` with the name of a secret.
  [
    /\b([A-Z0-9_-]{0,64}(?:API[_-]?KEY|ACCESS[_-]?KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|TOKEN(?!S))[A-Z0-9_-]{0,64})(["']?\s{0,8}[=:]\s{0,8}["']?)[^\s"',;&]{6,}/gi,
    `$1$2${REDACTED}`,
  ],
  // Shorter words that name a secret only at the end of a variable's name.
  [
    /\b([A-Z0-9_]{1,64}_(?:PWD|PASS|PW|PAT|KEY|AUTH|JWT|DSN|CREDS?|WEBHOOK(?:_URL)?))(["']?\s{0,8}[=:]\s{0,8}["']?)[^\s"',;&]{6,}/g,
    `$1$2${REDACTED}`,
  ],
]
