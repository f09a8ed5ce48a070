// Made by `npm run conformance:matrix` from docs/conformance.json. Do not edit.
export const MATRIX_RELEASES: Readonly<Record<string, readonly string[]>> = {
  'claude-code': [
    '2.1.9',
    '2.1.50',
    '2.1.86',
    '2.1.112',
    '2.1.150',
    '2.1.197',
    '2.1.220',
    '2.1.268',
    '2.1.310',
    '2.1.325',
    '2.1.326',
  ],
  codex: ['0.122.0', '0.128.0', '0.140.0', '0.150.0', '0.160.0', '0.166.0', '0.169.0'],
}
