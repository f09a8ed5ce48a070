import { expect, test } from 'vitest'
import { redactArgs } from './redact-args.ts'

test.each([
  ['--model', '--model'],
  ['model="gpt-5.5"', 'model="gpt-5.5"'],
  ['bearer_token_env_var="TOK"', 'bearer_token_env_var="TOK"'],
  ['model_providers.x.api_key="s3cret"', 'model_providers.x.api_key=[redacted]'],
  [
    'mcp_servers.x.http_headers={ "Authorization" = "Bearer sk-ant-0123456789abcdef" }',
    'mcp_servers.x.http_headers=[redacted]',
  ],
  ['sk-ant-0123456789abcdefgh', '[redacted]'],
  [`//127.0.0.1/:_auth=npm_${'a1'.repeat(18)}`, '//127.0.0.1/:_auth=[redacted]'],
  ['http://user:word@127.0.0.1:1/v1', '[redacted]'],
])('%s is logged as %s', (argument, logged) => {
  expect(redactArgs([argument])).toEqual([logged])
})
