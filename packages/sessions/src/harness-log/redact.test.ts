import { describe, expect, test } from 'vitest'
import { createRedactor } from './redact.ts'

describe('by look', () => {
  const redact = createRedactor()

  test.each([
    `key sk-ant-api03-${'a'.repeat(40)} end`,
    `ghp_${'A1'.repeat(18)}`,
    `github_pat_${'a'.repeat(30)}`,
    'AKIAIOSFODNN7EXAMPLE',
    `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(20)}.${'c'.repeat(20)}`,
    '-----BEGIN RSA PRIVATE KEY-----\nabc\ndef\n-----END RSA PRIVATE KEY-----',
    '-----BEGIN PRIVATE KEY-----\nabc and then the text was cut',
    'postgres://user:hunter2@host/db',
    'Authorization: Bearer abcdefghijklmnop',
    'curl -H "x-api-key: abcdefghijkl"',
    'GITHUB_TOKEN=abcdefghijkl npm publish',
    'MYSQL_PWD=abcdefghijkl mysql',
    'AWS_ACCESS_KEY_ID: abcdefghijkl',
    '{"GITHUB_PAT":"abcdefghijkl"}',
    'passphrase: abcdefghijkl',
    '{"client_secret": "abcdefghijkl"}',
    `xoxb-${'1'.repeat(20)}`,
    `glpat-${'a'.repeat(20)}`,
    `AIza${'a'.repeat(35)}`,
  ])('%s', text => {
    const clean = redact(text)
    expect(clean).toContain('[redacted]')
    expect(clean).not.toMatch(/aaaa|A1A1|IOSFODNN|abcdefgh|hunter2|abc\b|1111/)
  })

  test.each([
    'The token was missing.',
    'PWD=/home/somebody/work',
    'primary_key: something',
    'first pass: everything',
    'https://example.com:8080/path',
    'git@github.com:owner/repo.git',
    'sk-short',
    'max_tokens: 4096',
    'input_tokens=12',
    'cache_read_input_tokens: 1234567',
  ])('%s stays', text => {
    expect(redact(text)).toBe(text)
  })
})

describe('by value', () => {
  test('in every form a value travels in', () => {
    const secret = 'p@ss "wörd" 123'
    const redact = createRedactor([secret])
    const forms = [
      secret,
      encodeURIComponent(secret),
      JSON.stringify({ secret }),
      Buffer.from(secret).toString('base64'),
      Buffer.from(secret).toString('base64url'),
      Buffer.from(secret).toString('hex'),
    ]
    for (const form of forms)
      expect(redact(`before ${form} after`)).toMatch(/^before .*\[redacted\].* after$/)
  })

  test('a value within a longer one does not save the rest of it', () => {
    const redact = createRedactor(['abcdefgh', 'abcdefgh-and-more'])
    expect(redact('abcdefgh-and-more')).toBe('[redacted]')
  })

  test('short values are words, and stay', () => {
    expect(createRedactor(['test', ''])('a test')).toBe('a test')
  })
})
