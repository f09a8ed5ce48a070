export function isSecretField(name: string): boolean {
  return SECRET_WORD.test(name) || SECRET_VARIABLE.test(name)
}

const SECRET_WORD =
  /^(?:.*_)?(?:api_?key|access_?key(?:_?id)?|secret|password|passwd|passphrase|credentials?|token|authorization)$/i
/** Short words that name a secret only in the name of a variable. */
const SECRET_VARIABLE = /^[A-Z0-9_]+_(?:PWD|PASS|PW|PAT|KEY|AUTH|JWT|DSN|CREDS?|WEBHOOK(?:_URL)?)$/
