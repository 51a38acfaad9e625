INSERT INTO punctual.kind (name, priorities, gated, served) VALUES ('report', '{5}', true, true);
INSERT INTO punctual.series (tenant, slot, job, pending, completed) VALUES ('acme', 7, 'report', 1, 1);
INSERT INTO punctual.tenant (name, pending, completed) VALUES ('acme', 1, 1);
INSERT INTO punctual.form (digest, kind, version, source, uniqueness, hooked, priority) VALUES ('a', 1, 1, 'schedule', 'ever', false, 5), ('b', 1, 1, 'deferred', 'live', true, 5);
INSERT INTO punctual.count_delta (series, failed, last_run_at, failures) VALUES (1, 1, 1000, 1);
INSERT INTO punctual.occurrence (scheduled_at, created_at, id, series, form, key, payload)
  VALUES (1000, 900, '01a1e133-0000-7000-8000-000000000002', 1, 1, NULL, '{"day":1}'),
         (2000, 900, '01a1e133-0000-7000-8000-000000000003', 1, 2, 'k', NULL);
INSERT INTO punctual.ready VALUES (1, 5, 2000, 2, 1, 1, false, false, false, false, false, 1, 2500, '[{"kind":"overlap","key":"[\"overlap\",\"acme\",\"report\"]","limit":1}]');
INSERT INTO punctual.waiting (kind, priority, due_at, ref, series, turn, begun, retrying, planned, recovery, gate, granted, reason, key, wake_at)
  VALUES (1, 5, 2000, 3, 1, 1, false, false, true, false, true, 0, 'overlap', '["overlap","acme","report"]', NULL);
INSERT INTO punctual.limit_key VALUES ('["overlap","acme","report"]', 1, 2);
INSERT INTO punctual.release (key, free_at, slots) VALUES ('["rate","mail"]', 2000, 1);
INSERT INTO punctual.dead VALUES (1, 4, 'acme', '0123456789abcdef', 1767225600000);
INSERT INTO punctual.claim (id, token, node, refs, turns, dues) VALUES ('c', 't', 'north', '{5}', '{1}', '{1000}');
INSERT INTO punctual.turn (ref, ended_at, started_at, due_at, turn, series, "end", attempt, node, result)
  VALUES (1, 1200, 1100, 1000, 1, 1, 'completed', 'succeeded', 'north', '"done"');
INSERT INTO punctual.attempt (ref, started_at, ended_at, turn, n, state, task, error)
  VALUES (1, 1100, 1150, 1, 1, 'failed', 'build', '{"name":"Error","message":"no"}');
INSERT INTO punctual.progress VALUES (5, 'build', 0.5, 'half', 1100);
INSERT INTO punctual.log VALUES (1, 1, 1, 'build', '{"dropped":0,"lines":[]}');
INSERT INTO punctual.start VALUES (5, 1, 1100, 5000);
INSERT INTO punctual.cancel_request VALUES (5, 1, 'not needed');
INSERT INTO punctual.live_key VALUES (1, 'k', 2);
INSERT INTO punctual.tombstone VALUES ('01a1e133-0000-7000-8000-000000000009', 9000);
INSERT INTO punctual.hook_note VALUES (1, 1, 'north', 2000);
INSERT INTO punctual.audit (at, act, target, actor, action, tenant, job, before, after, reason) VALUES (900, 'a', 'report', 'ada', 'update',
  'acme', 'report', '{"version":1}', '{"version":2}', 'moved');
INSERT INTO punctual.audit_open VALUES (1, 'd');
INSERT INTO punctual.audit_seal VALUES (1, 1, 1, 1, '[]', 'c', '', 'h', 900, 900, NULL);
INSERT INTO punctual.gate VALUES ('acme', 'charge', 'order-42', 'reserved', 'f', '01a1e133-0000-7000-8000-000000000005', 1, 0, 1100, NULL, NULL, NULL,
  NULL, 'h', 5000, 'c', 5, 1);
INSERT INTO punctual.job VALUES (1, 1, NULL, NULL, 'tz', 1000, 3000, 900, 900);
INSERT INTO punctual.job_version VALUES (1, 1, '{}', 0, 900, 'ada');
INSERT INTO punctual.range (series, version, from_at, to_at, count, state, reason, recorded_at) VALUES (1, 1, 100, 800, 7, 'missed', 'no node ran', 900);
INSERT INTO punctual.pause VALUES (1, 'acme', NULL, 100, 200, 'moved', 'ada', true);
INSERT INTO punctual.node VALUES ('north', 'north', 4711, 10, '["report"]', '0.1.0', 'tz', 15000, NULL, '[]', false, false, '{}', 100, 200, 3, 1, DEFAULT, '{1}');
INSERT INTO punctual.figure (id, tenant, job, at, width, data) VALUES ('n 1', '', '', 60000, 60000, '{"completed":1}');
INSERT INTO punctual.token VALUES ('t', 'ci', 'viewer', '["acme"]', 'h', NULL, 100, 'ada', NULL);
