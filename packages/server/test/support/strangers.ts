/** Names under which the server is not reached: rebound, nearly right, of another port. */
export function foreignHosts(port: number): string[] {
  return [
    ...[
      `evil.example:${port}`,
      `localhost.:${port}`,
      `LOCALHOST:${port}`,
      `127.0.0.1:${port + 1}`,
      '127.0.0.1',
    ],
    ...[`0.0.0.0:${port}`, `127.0.0.1.nip.io:${port}`, `localhost:${port}@evil.example`, `[::]:${port}`],
    ...[`evil.example, localhost:${port}`, `127.1:${port}`, `2130706433:${port}`],
  ]
}

/** Pages that may not call it. */
export function foreignOrigins(port: number): string[] {
  return [
    ...[
      'null',
      '',
      'http://evil.example',
      'file://',
      'chrome-extension://abcdef',
      `https://127.0.0.1:${port}`,
    ],
    ...[`http://127.0.0.1:${port + 1}`, `http://localhost:${port}0`, 'http://127.0.0.1', 'http://localhost'],
    ...[`http://localhost:${port}.evil.example`, `http://evillocalhost:${port}`, `http://localhost.:${port}`],
    ...[`http://127.0.0.1.nip.io:${port}`, `HTTP://127.0.0.1:${port}`, `http://127.0.0.1:${port}/`],
    ...[
      `http://user@127.0.0.1:${port}`,
      `http://0.0.0.0:${port}`,
      `http://127.0.0.1:${port}, http://evil.example`,
    ],
  ]
}

/** What an `Authorization` may say that is not the token of this start. */
export function wrongTokens(token: string, old: string): string[] {
  return [
    ...['', 'Bearer', 'Bearer x', `Bearer ${token.slice(0, -1)}`, `Bearer ${token}x`, `Bearer ${old}`],
    ...[`Basic ${token}`, `bearer ${token}`, token],
  ]
}
