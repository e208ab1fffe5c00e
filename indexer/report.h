// What a publish says in the end: for people, and as one JSON object for programs.
#ifndef TARN_INDEXER_REPORT_H_
#define TARN_INDEXER_REPORT_H_

#include <iosfwd>

#include "indexer/publish.h"

namespace tarn::indexer {

// Findings are grouped by code; the first ones are named.
void PrintReport(const PublishReport& report, std::ostream& out);

// Every path and name is escaped as elsewhere (printable ASCII, \xNN for the rest).
void PrintReportJson(const PublishReport& report, std::ostream& out);
// {"error": {...}}: when there is no report.
void PrintErrorJson(const Status& status, std::ostream& out);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_REPORT_H_
