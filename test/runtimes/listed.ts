/** A bundle's test files, each of which runs on import. The bundler inserts them. */
export const LISTED: Readonly<Record<string, () => Promise<unknown>>> = {}
